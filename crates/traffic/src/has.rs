//! Adaptive video over HTTP: a player that fetches chunks at levels that an adaptation rule selects.
//!
//! The player fills its buffer chunk by chunk. Then it requests one chunk per chunk duration, or whenever one
//! fits, so it alternates between ON and OFF. [`crate::adaptation`] has the rules, [`Playback`] the playback,
//! [`Client`] requests and responses. A chunk may be fetched in parts over several connections, and abandoned
//! for a smaller one. Not modelled: parallel chunks, live video, separate sound.

use evenflow_base::params::Key;
use evenflow_base::schema::{Mechanism, Nested, Problem, Room, Traits, Value, Values, sound};
use evenflow_base::{Duration, Heap, Time};

use crate::Common;
use crate::adaptation::{self, Adaptation, Known, Ladder};
use crate::app::{Call, Drawn, Event, External, Machine, NoLevel, Setting, Transfer};
use crate::client::{Asking, Client, News};
use crate::ending::Ending;
use crate::playback::{Playback, Thresholds};

/// The alarm of the next request.
const ASK: u32 = u32::MAX;
/// The alarm of the end.
const OVER: u32 = u32::MAX - 1;

/// Tolerance for times computed in two ways.
const ROUNDING: Duration = Duration(1_000);

/// Throughputs of which a rule may ask for the latest: twice the longest window of any.
const KEPT: usize = 2_000;

/// A chunk that is asked for.
#[derive(Clone, Copy, Debug)]
struct Fetch {
    asked: Time,
    first_byte: Option<Time>,
    level: usize,
    /// Total bytes with headers, and bytes of complete parts.
    size: u64,
    bytes: u64,
    /// Incomplete parts.
    parts: u64,
}

/// A player and its server.
#[derive(Clone, Debug)]
pub struct Has {
    client: Client,
    rule: Adaptation,
    ladder: Ladder,
    /// Capacity of the buffer, in seconds of video.
    capacity: f64,
    header: Drawn,
    steady: Steady,
    /// Chunks after which it requests at the pace of chunks, whatever the buffer level.
    steady_after: Option<usize>,
    buffer_in: BufferIn,
    measure_from: MeasureFrom,
    playback: Playback,
    /// Number of chunks, and seconds of the last one; absent: without end.
    chunks: Option<(usize, f64)>,
    /// Chunks received.
    done: usize,
    last: Option<usize>,
    throughputs: Vec<f64>,
    fetch: Option<Fetch>,
    /// Number of connections for a chunk.
    connections: u64,
    abandon: Option<Abandon>,
    /// The abandoned chunk, to abandon it only once.
    abandoned: Option<usize>,
    /// A level that the rule selected and that does not exist.
    fault: Option<usize>,
    /// Whether the buffer is filling.
    filling: bool,
    /// Time of the last request.
    asked: Time,
    asks_at: Time,
    ending: Option<Ending>,
    /// A viewer that leaves closes at that moment.
    hangs_up: bool,
    over: bool,
}

impl Machine for Has {
    const TABLE: &'static Mechanism = &TABLE;
    const FIXED: &'static [&'static str] = &[
        Given::buffer.name,
        Given::chunk.name,
        Given::connections.name,
        Given::length.name,
        Given::play_at.name,
        Given::resume_at.name,
    ];

    fn problems(values: &Values) -> Vec<Problem> {
        problems(values)
    }

    fn build(values: &Values, setting: &Setting) -> Result<Has, Vec<Problem>> {
        sound(problems(values))?;
        let chunk = values.read(Given::chunk);
        let levels = values.at(Given::ladder).unwrap_or_default();
        let ladder = Ladder::new(levels, chunk, values.read(Given::sizes))?;
        let connections = values.read(Given::connections).unwrap_or(1);
        let rule = values.read(Given::adaptation);
        // Errors in the rule's own parameters were reported at decoding.
        let rule = Adaptation::build(rule.kind(), &rule)?;
        let thresholds = Thresholds {
            start: values.read(Given::play_at).unwrap_or(chunk),
            resume: values.read(Given::resume_at).unwrap_or(chunk),
            stall: 0.0,
            above: false,
        };
        Ok(Has {
            client: Client::new(values, connections as u32, values.is(Given::keep_alive, true), setting),
            rule,
            ladder,
            capacity: values.read(Given::buffer),
            header: Drawn::new(values, Given::header, 1.0, setting),
            steady: values.read(Given::steady),
            steady_after: values.read(Given::steady_after),
            buffer_in: values.read(Given::buffer_in),
            measure_from: values.read(Given::measure_from),
            playback: Playback::new(thresholds),
            chunks: values.read(Given::length).map(|length| cut(length, chunk)),
            done: 0,
            last: None,
            throughputs: Vec::new(),
            fetch: None,
            connections,
            abandon: values.read(Given::abandon),
            abandoned: None,
            fault: None,
            filling: true,
            asked: Time::ZERO,
            asks_at: Time::NEVER,
            ending: setting.ending,
            hangs_up: values.is(Given::end, Departure::Drain),
            over: false,
        })
    }
}

impl External for Has {
    fn client_at_end(&self) -> bool {
        true
    }

    fn adapts(&self) -> bool {
        true
    }

    fn heap_bytes(&self) -> u64 {
        self.client.heap_bytes()
            + self.playback.heap_bytes()
            + self.ladder.heap_bytes()
            + self.throughputs.heap_bytes()
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
                Some(News::Begun(_)) => {
                    self.note_first_byte(now);
                    self.reconsider(now, calls);
                }
                Some(News::More(_)) => self.reconsider(now, calls),
                Some(News::Done(bytes)) => {
                    self.note_first_byte(now);
                    self.part_arrived(bytes, now, calls);
                }
                Some(News::Failed) if self.fetch.take().is_some() => {
                    self.client.abort(false, calls); // the other parts
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

    fn fault(&self) -> Option<NoLevel> {
        Some(NoLevel { level: self.fault?, top: self.ladder.top() })
    }
}

/// Chunks that hold `seconds` of video.
fn whole_chunks(seconds: f64, chunk: f64) -> usize {
    // Rounds a number that is nearly whole.
    (seconds / chunk - 1e-9).ceil().max(1.0) as usize
}

/// The number of chunks of a video of this length, and the duration of the last one.
fn cut(length: f64, chunk: f64) -> (usize, f64) {
    let chunks = whole_chunks(length, chunk);
    let last = length - (chunks - 1) as f64 * chunk;
    (chunks, if (last - chunk).abs() <= 1e-9 * chunk { chunk } else { last })
}

/// Errors in the combination of parameters; some may be missing or random.
fn problems(values: &Values) -> Vec<Problem> {
    let (chunk, sizes) = (values.at(Given::chunk), values.at(Given::sizes));
    let mut problems = Ladder::problems(values.at(Given::ladder).as_deref(), chunk, sizes.as_deref());
    if let (Some(chunk), Some(capacity)) = (chunk, values.at(Given::buffer)) {
        problems.extend(check_buffer(values, chunk, capacity));
    }
    if let (Some(rule), Some(capacity)) = (values.at(Given::adaptation), values.at(Given::buffer))
        && let Some(reservoir) =
            rule.at(adaptation::bba::Given::reservoir).filter(|reservoir| *reservoir >= capacity)
    {
        let why = format!(
            "its reservoir of {reservoir} s exceeds the buffer of {capacity} s: every chunk would have the \
             lowest level"
        );
        problems.push((Given::adaptation.name, why));
    }
    for name in [Given::adaptation.name, Given::abandon.name] {
        if matches!(values.get(name), Some(Value::Table(table)) if table.is_random()) {
            problems.push((name, "its parameters cannot be drawn; plain values are needed".into()));
        }
    }
    problems
}

/// Errors in a buffer of `capacity` seconds for chunks of `chunk` seconds.
fn check_buffer(values: &Values, chunk: f64, capacity: f64) -> Vec<Problem> {
    if capacity < 2.0 * chunk {
        let why = format!("must hold at least two chunks of {chunk} s; it is {capacity} s");
        return vec![(Given::buffer.name, why)];
    }
    let most = (capacity / chunk + 1e-9).floor();
    let too_much = |key: Key<Option<f64>>| {
        let at = values.at(key).filter(|at| whole_chunks(*at, chunk) as f64 > most)?;
        Some((key.name, format!("is never reached: the buffer holds {most} chunks of {chunk} s, not {at} s")))
    };
    [Given::play_at, Given::resume_at].into_iter().filter_map(too_much).collect()
}

impl Has {
    /// Requests the next chunk.
    fn ask(&mut self, now: Time, calls: &mut Vec<Call>) {
        self.asks_at = Time::NEVER;
        let (held, chunk) = (self.playback.buffered(now), self.ladder.chunk());
        let buffer = if self.buffer_in == BufferIn::Chunks && held > 0.0 {
            whole_chunks(held, chunk) as f64 * chunk
        } else {
            held
        };
        let known = Known {
            ladder: &self.ladder,
            next: self.done,
            buffer,
            capacity: self.capacity,
            throughputs: &self.throughputs,
            last: self.last,
        };
        let level = self.rule.choose(&known);
        if level > self.ladder.top() {
            self.fault.get_or_insert(level);
        }
        self.ask_for(level.min(self.ladder.top()), now, calls);
    }

    /// Seconds of video in the next chunk.
    fn seconds(&self) -> f64 {
        match self.chunks {
            Some((chunks, last)) if self.done + 1 >= chunks => last,
            _ => self.ladder.chunk(),
        }
    }

    /// Bytes of the next chunk at a level, from the list or from duration and bitrate.
    fn size(&self, level: usize) -> f64 {
        let (size, seconds, whole) =
            (self.ladder.size(self.done, level), self.seconds(), self.ladder.chunk());
        if seconds == whole || self.ladder.chunks().is_some() { size } else { size * (seconds / whole) }
    }

    /// Requests the next chunk at a level, in parts over all connections.
    fn ask_for(&mut self, level: usize, now: Time, calls: &mut Vec<Call>) {
        self.last = Some(level);
        self.playback.ask_part(level, self.ladder.levels()[level], now);
        self.asked = now;
        calls.push(Call::Transfer(Transfer::Started));
        let payload = (self.size(level).round() as u64).max(1);
        let parts = self.connections.min(payload).max(1);
        let mut size = 0;
        for part in 0..parts {
            // As equal as whole bytes allow.
            let share = payload / parts + u64::from(part < payload % parts);
            let whole = self.header.bytes() + share;
            size += whole;
            let is_asked = self.client.ask(whole, calls);
            debug_assert!(is_asked, "a connection for each part");
        }
        self.fetch = Some(Fetch { asked: now, first_byte: None, level, size, bytes: 0, parts });
    }

    /// Part of a chunk arrived: abandons it if a lower level would arrive sooner.
    fn reconsider(&mut self, now: Time, calls: &mut Vec<Call>) {
        let (Some(rule), Some(fetch)) = (&self.abandon, self.fetch) else { return };
        if self.over || self.abandoned == Some(self.done) {
            return;
        }
        let (so_far, took) = (fetch.bytes + self.client.arrived(), (now - fetch.asked).seconds());
        if took <= rule.after {
            return;
        }
        let rate = so_far as f64 * 8.0 / took;
        let level = self.ladder.highest_within(rate * rule.safety);
        let left = fetch.size as f64 - so_far as f64;
        if fetch.size as f64 * 8.0 <= rate * rule.multiple * self.seconds()
            || level >= fetch.level
            || left <= self.size(level)
        {
            return;
        }
        self.abandoned = Some(self.done);
        calls.push(Call::Transfer(Transfer::Abandoned));
        if rule.how == GiveUp::Drain {
            self.client.drain(calls)
        } else {
            self.client.abort(false, calls)
        }
        self.ask_for(level, now, calls);
    }

    /// A part of a chunk is complete; the chunk may be complete too.
    fn part_arrived(&mut self, bytes: u64, now: Time, calls: &mut Vec<Call>) {
        let Some(fetch) = &mut self.fetch else { return };
        fetch.bytes += bytes;
        fetch.parts -= 1;
        if fetch.parts == 0 {
            self.arrived(now, calls);
        } else {
            self.reconsider(now, calls);
        }
    }

    fn note_first_byte(&mut self, now: Time) {
        if let Some(fetch) = &mut self.fetch {
            fetch.first_byte.get_or_insert(now);
        }
    }

    /// A chunk is complete.
    fn arrived(&mut self, now: Time, calls: &mut Vec<Call>) {
        let Some(fetch) = self.fetch.take() else { return };
        let bytes = fetch.bytes;
        let first_byte = fetch.first_byte.map(|at| at - fetch.asked);
        let took = now - fetch.asked;
        calls.push(Call::Transfer(Transfer::Completed { bytes, first_byte, took }));
        let from =
            fetch.first_byte.filter(|_| self.measure_from == MeasureFrom::FirstByte).unwrap_or(fetch.asked);
        // One that arrives as a whole at the instant of its first byte took no time that could be measured.
        let seconds = (now - from).seconds().max(1e-9);
        if self.throughputs.len() == 2 * KEPT {
            self.throughputs.drain(..KEPT);
        }
        self.throughputs.push(self.size(fetch.level) * 8.0 / seconds);
        self.playback.advance(now);
        self.filling |= self.playback.is_stalled();
        let (part, chunk) = (self.seconds(), self.ladder.chunk());
        self.done += 1;
        let whole = self.chunks.is_some_and(|(chunks, _)| self.done >= chunks);
        let content = self.done as f64 * chunk - (chunk - part);
        self.playback.receive_part(fetch.level, part, content, whole, now);
        if whole || self.over {
            return self.client.close(calls);
        }
        self.plan_next(now, calls);
    }

    /// Requests the next chunk, or sets the timer for it.
    fn plan_next(&mut self, now: Time, calls: &mut Vec<Call>) {
        let chunk = self.ladder.chunk();
        let excess = self.playback.buffered(now) + chunk - self.capacity;
        let is_full = excess > 1e-9;
        // It plays where it is full, so that there will be room.
        let roomy = now + Duration::from_seconds(if is_full { excess } else { 0.0 });
        let at = if self.steady == Steady::Room {
            roomy
        } else {
            self.filling &= !is_full && self.steady_after.is_none_or(|chunks| self.done < chunks);
            let paced = (self.asked + Duration::from_seconds(chunk)).max(now);
            match self.filling {
                true => now,
                // Nothing was shown while the last chunk came in. By the pace there is room to the nanosecond otherwise.
                false if roomy > paced + ROUNDING => roomy,
                false => paced,
            }
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
        if self.hangs_up {
            self.client.hang_up(calls);
            calls.extend(self.fetch.take().map(|_| Call::Transfer(Transfer::Abandoned)));
        } else if self.ending.is_some_and(|ending| ending.abort) {
            self.client.abort(true, calls);
            calls.extend(self.fetch.take().map(|_| Call::Transfer(Transfer::Abandoned)));
        } else if self.fetch.is_none() {
            self.client.close(calls);
        }
    }
}

words! {
    /// The fate of the connections of a chunk that is given up.
    pub enum GiveUp { Close = "close", Drain = "drain" }
}

words! {
    /// Resolution of the buffer level for the rule.
    pub enum BufferIn { Seconds = "seconds", Chunks = "chunks" }
}

words! {
    /// End of a session.
    pub enum Departure { Close = "close", Abort = "abort", Drain = "drain" }
}

words! {
    /// Start of the throughput measurement of a chunk.
    pub enum MeasureFrom { Request = "request", FirstByte = "first-byte" }
}

words! {
    /// Time of requests once the buffer has been full.
    pub enum Steady { Period = "period", Room = "room" }
}

params! {
    /// Abandonment of a slow chunk in favour of a lower level.
    #[derive(Clone, Debug)]
    pub struct Abandon {
        /// Minimum time after the request.
        after: f64 = Duration, Text("500 ms"), Range::NOT_NEGATIVE
            => source: "dash.js 4, abandonment rule: grace time";
        /// Treatment of its connections. `close`: reset them and open new ones. `drain`: open others, and
        /// discard the rest of the chunk as it arrives.
        how: GiveUp = GiveUp::TYPE, Text("close")
            => source: "RFC 9112 section 9.6: over HTTP/1.1 a response ends early only with its connection";
        /// Abandon a chunk whose download, at the throughput so far, would take longer than this multiple of
        /// its length.
        multiple: f64 = Number, Text("1.8"), Range::POSITIVE
            => source: "dash.js 4, abandonment rule: multiplier";
        /// Share of that throughput that the lower level may use.
        safety: f64 = Number, Text("0.9"), Range::POSITIVE => source: "dash.js 4, bandwidth safety factor";
    }
}

/// The table `abandon`.
static ABANDON: Nested = Nested {
    name: "abandon",
    doc: "Abandons a slow chunk and fetches it at a lower level. This happens at most once per chunk, and \
          only if the rest is larger than the other chunk.",
    params: Abandon::PARAMS,
    changes: &[],
};

params! {
    /// Its parameters.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// Abandonment of slow chunks in favour of a lower level.
        abandon: Option<Abandon> = Table(&ABANDON), Absent("never") => source: "";
        /// Adaptation rule, which selects the level: a name, or a table with kind and parameters.
        adaptation: Values = Mechanism(Room::Adaptation), Text("rate")
            => source: "Jiang et al. 2012, section 4.2";
        /// Capacity of the playback buffer, in seconds of video.
        buffer: f64 = Duration, Text("30 s"), Range::POSITIVE
            => source: "Ben Ameur et al. 2016, section 4.1: 15 chunks of 2 s";
        /// Resolution of the buffer level for the rule: exact, or in chunks, with the one being played as a
        /// whole.
        buffer_in: BufferIn = BufferIn::TYPE, Text("seconds")
            => source: "Ben Ameur et al. 2016, equation 5 (chunks)";
        /// Duration of a chunk. Its bytes follow from the level's bitrate, or from sizes.
        chunk: f64 = Duration, Text("2 s"), Range::POSITIVE => source: "Ben Ameur et al. 2016, section 4.1";
        /// Parallel connections for a chunk. Each fetches an equal range of its bytes, with its own request
        /// and header.
        connections: Option<u64> = Integer, Absent("one"), Range::between(1.0, 100.0)
            => source: "RFC 9110 section 14 (ranges)";
        /// End of the session. `close`: finish the chunk, then close the connections. `abort`: reset them.
        /// `drain`: close immediately and discard data in flight.
        end: Option<Departure> = Departure::TYPE, Absent("close, with until")
            => source: "RFC 9293 sections 3.6 and 3.10.5";
        /// Application bytes before each chunk, drawn for each.
        header: Value = Bytes, Text("300 B"), Range::FROM_ONE
            => source: "docs/scenarios.md: a response's header fields";
        /// See [`crate::request_response`].
        keep_alive: bool = Asking::keep_alive.param;
        /// Rising bitrates of the levels, or the name of an MPEG-DASH manifest (.mpd), which also gives
        /// chunk, length and sizes.
        ladder: Vec<f64> = Rates, Required, Range::POSITIVE => source: "";
        /// Length of the video. The last chunk has the rest: its seconds at the level's bitrate, or the bytes
        /// in sizes.
        length: Option<f64> = Duration, Absent("without end"), Range::POSITIVE => source: "";
        /// Start of the throughput measurement of a chunk, which ends with its last byte.
        measure_from: MeasureFrom = MeasureFrom::TYPE, Text("request")
            => source: "Ben Ameur et al. 2016, section 4.1";
        /// Buffer level at which playback starts, in seconds of video.
        play_at: Option<f64> = Duration, Absent("one chunk"), Range::POSITIVE => source: "";
        /// See [`crate::request_response`].
        request: Value = Asking::request.param;
        /// Buffer level at which playback resumes after a stall. A stall begins when the buffer is empty.
        resume_at: Option<f64> = Duration, Absent("one chunk"), Range::POSITIVE => source: "";
        /// See [`crate::request_response`].
        service: Value = Asking::service.param;
        /// Bytes of each chunk at each level, as a list for each chunk. The list repeats at its end; one
        /// entry gives constant sizes.
        sizes: Option<Vec<Vec<f64>>> = ByteRows, Absent("sizes from the bitrates"), Range::FROM_ONE
            => source: "";
        /// See [`Common`].
        start: Value = Common::start.param;
        /// Requests once the buffer was full. `period`: a chunk duration after the last request, if a chunk
        /// fits; after a stall the buffer fills again first. `room`: as soon as a chunk fits.
        steady: Steady = Steady::TYPE, Text("period")
            => source: "Ben Ameur et al. 2016, section 2 (period); Yin et al. 2015, equation 4 (room)";
        /// Chunks after which period starts, whatever the buffer level.
        steady_after: Option<usize> = Integer, Absent("when the buffer is full"), Range::FROM_ONE
            => source: "";
        /// See [`Common`].
        until: Option<Value> = Common::until.param;
    }
}

/// Its table.
pub static TABLE: Mechanism = Mechanism {
    kind: "has",
    traits: Traits { plays: true, ..Mechanism::PLAIN },
    title: "Adaptive video over HTTP",
    example: r#"[groups.users.traffic]
kind = "has"
ladder = ["1 Mbit/s", "2.5 Mbit/s", "5 Mbit/s"]
chunk = "2 s"
buffer = "30 s"
adaptation = "bola""#,
    doc: "A player at the end of the path fetches a video in chunks, one at a time. An adaptation rule \
          selects the level of each. The player fills its buffer and then fetches a chunk for each one \
          played. A transfer is a chunk, from its request (or the opening of its connection) to its last \
          byte.",
    source: "Ben Ameur et al. 2016, sections 2 and 4; Yin et al. 2015, section 3 (the player's buffer)",
    params: Given::PARAMS,
    ..Mechanism::of(Room::Traffic)
};

#[cfg(test)]
mod tests {
    use evenflow_base::End;
    use proptest::prelude::*;

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
            let buffered = has.playback.buffered(now);
            assert!(
                (-1e-9..=has.capacity + 1e-6).contains(&buffered),
                "{buffered} s in the buffer at {now:?}"
            );
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
        // Fifteen chunks, the last of which comes 11 x 1.9 s after 2.42 s; then it plays, and there is room for one every two seconds.
        assert_eq!(all[14..17], [(2_420 + 10 * 1_900, 4), (23_320 + 2_000, 4), (23_320 + 4_000, 4)]);
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
        // Full at 1 s, when it starts to play: there is room when a chunk is shown.
        assert_eq!(asks("period", 4.0)[..4], [0, 500, 3_000, 5_000]);
        assert_eq!(asks("room", 4.0)[..4], [0, 500, 3_000, 5_000]);
        // It plays from 0.5 s on, and is full at 1 s with half a second shown.
        assert_eq!(asks("period", 2.0)[..4], [0, 500, 2_500, 4_500]);
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
        // a second and a half at 1 Mbit/s, and a header
        let took = Duration::from_millis(400);
        let last = Call::Transfer(Transfer::Completed { bytes: 187_800, first_byte: Some(took), took });
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
                    &[Call::Write(1, End::Server, 187_800), Call::Close(1, End::Server)],
                ),
                (900, Event::Received(1, End::Client, 187_800), &[last]),
            ],
        );
        assert_eq!(has.playback.moments(at(9_000)).last(), Some(&(at(4_000), Moment::Ends)));
    }

    #[test]
    fn the_last_chunk_has_what_is_left() {
        assert_eq!(cut(61.0, 2.0), (31, 1.0));
        assert_eq!(cut(60.0, 2.0), (30, 2.0));
        assert_eq!(cut(0.3, 0.1), (3, 0.1)); // in doubles 2 * 0.1 + 0.1 are more
        assert_eq!(cut(1.0, 2.0), (1, 1.0));
        let more = [("length", Value::Seconds(3.0)), ("sizes", Value::ByteRows(vec![vec![9e4], vec![4e4]]))];
        let mut has: Has = machine(&values(&[1e6], &rate(), &more), None, false);
        assert_eq!((has.seconds(), has.size(0)), (2.0, 9e4));
        has.done = 1;
        assert_eq!((has.seconds(), has.size(0)), (1.0, 4e4));
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

    proptest! {
        /// However long chunks take, the buffer is never negative and never holds more than it can; time is waited, played or stalled; and
        /// no more is shown than has come in.
        #[test]
        fn a_buffer_has_two_ends(
            takes in prop::collection::vec(prop_oneof![1u64..300, 300u64..2_500, 2_000u64..9_000], 1..60),
            (chunk, room) in (prop_oneof![Just(0.5), Just(2.0), Just(3.7)], 2.0f64..12.0),
            (play, resume) in (0.0f64..1.0, 0.0f64..1.0),
            by_room: bool, steady_after in prop::option::of(1u32..6), in_chunks: bool,
        ) {
            let capacity = chunk * room;
            let at_most = |part: f64| Value::Seconds((part * room).floor().max(1.0) * chunk);
            let word = |x: bool, yes: &str, no: &str| Value::Word(if x { yes } else { no }.into());
            let mut more = vec![
                ("chunk", Value::Seconds(chunk)),
                ("buffer", Value::Seconds(capacity)),
                ("play_at", at_most(play)),
                ("resume_at", at_most(resume)),
                ("steady", word(by_room, "room", "period")),
                ("buffer_in", word(in_chunks, "chunks", "seconds")),
            ];
            more.extend(steady_after.map(|n| ("steady_after", Value::Number(f64::from(n)))));
            let mut has: Has = machine(&values(&PAPER, &aggressive(), &more), None, false);
            requests(&mut has, 60_000, |n, _| takes[n % takes.len()]);
            let moments = has.playback.moments(at(60_000));
            let (mut since, mut screen, mut spent) = (Time::ZERO, Moment::Asked, [0.0; 3]);
            for (when, what) in moments.into_iter().chain([(at(60_000), Moment::Ends)]) {
                if matches!(what, Moment::Part(..) | Moment::Came(..)) {
                    continue;
                }
                let kind = match screen {
                    Moment::Asked => 0,
                    Moment::Stalls => 2,
                    _ => 1,
                };
                spent[kind] += (when - since).seconds();
                (since, screen) = (when, what);
            }
            prop_assert!((spent.iter().sum::<f64>() - 60.0).abs() < 1e-6, "{:?}", spent);
            prop_assert!(spent[1] <= has.done as f64 * chunk + 1e-6, "{:?} of {}", spent, has.done);
        }
    }

    #[test]
    fn sizes_are_those_that_are_listed() {
        let rows = vec![vec![1_000.0, 5_000.0], vec![2_000.0, 6_000.0]];
        let mut has: Has =
            machine(&values(&[100e3, 300e3], &rate(), &[("sizes", Value::ByteRows(rows))]), None, false);
        let all = requests(&mut has, 2_600, |_, _| 500);
        // 1,000 B in half a second are 16 kbit/s: below the lowest level, so that each chunk is of the lowest.
        assert_eq!(all.iter().map(|(_, level)| *level).collect::<Vec<_>>(), [0; 6]);
        assert_eq!(has.throughputs[..3], [16e3, 32e3, 16e3]);
    }

    #[test]
    fn equal_ranges_over_several_connections() {
        let more = [("connections", Value::Number(3.0)), ("length", Value::Seconds(4.0))];
        let mut has: Has = machine(&values(&[1_000_004.0], &rate(), &more), None, false);
        let asks = |n| Call::Write(n, End::Client, 250);
        let answers = |n, bytes| Call::Write(n, End::Server, bytes);
        let done = Call::Transfer(Transfer::Completed {
            bytes: 250_001 + 900,
            first_byte: Some(Duration::from_millis(200)),
            took: Duration::from_millis(400),
        });
        steps(
            &mut has,
            &[
                (0, Event::Start, &[STARTED, Call::Open(0), Call::Open(1), Call::Open(2)]),
                (50, Event::Opened(0, End::Client), &[asks(0)]),
                (60, Event::Opened(1, End::Client), &[asks(1)]),
                (70, Event::Opened(2, End::Client), &[asks(2)]),
                // 250,001 B are 83,334, 83,334 and 83,333 B.
                (100, Event::Received(0, End::Server, 250), &[answers(0, 83_634)]),
                (110, Event::Received(1, End::Server, 250), &[answers(1, 83_634)]),
                (120, Event::Received(2, End::Server, 250), &[answers(2, 83_633)]),
                (200, Event::Received(1, End::Client, 10), &[]),
                (300, Event::Received(0, End::Client, 83_634), &[]),
                (310, Event::Received(1, End::Client, 83_634), &[]),
                (400, Event::Received(2, End::Client, 83_633), &[done, STARTED, asks(0), asks(1), asks(2)]),
            ],
        );
        assert_eq!(has.throughputs, [250_001.0 * 8.0 / 0.4]);
    }

    /// A part that is lost takes the others with it: the chunk is asked for again as a whole.
    #[test]
    fn a_part_that_is_lost() {
        let more = [("connections", Value::Number(2.0))];
        let mut has: Has = machine(&values(&[1e6], &rate(), &more), None, false);
        let failed = Call::Transfer(Transfer::Failed);
        steps(
            &mut has,
            &[
                (0, Event::Start, &[STARTED, Call::Open(0), Call::Open(1)]),
                (50, Event::Opened(0, End::Client), &[Call::Write(0, End::Client, 250)]),
                (
                    60,
                    Event::Reset(1, End::Client),
                    &[Call::Abort(0, End::Client), failed, STARTED, Call::Open(2), Call::Open(3)],
                ),
                (60, Event::Closed(1), &[]),
                (70, Event::Closed(0), &[]),
                (90, Event::Opened(2, End::Client), &[Call::Write(2, End::Client, 250)]),
            ],
        );
    }

    /// Levels of 20 and 400 kbit/s: of the second chunk's 100,300 B only 5,300 B are there after 0.6 s, so that it would take 11 s.
    #[test]
    fn a_chunk_that_takes_too_long_is_given_up() {
        for (how, first) in [("close", Call::Abort(0, End::Client)), ("drain", Call::Open(1))] {
            let table = [
                ("how", Value::Word(how.into())),
                ("after", Value::Seconds(0.5)),
                ("multiple", Value::Number(1.8)),
                ("safety", Value::Number(0.9)),
            ];
            let abandon = Value::Table(Values(table.into_iter().collect()));
            let more = [("abandon", abandon), ("length", Value::Seconds(4.0))];
            let mut has: Has = machine(&values(&[20e3, 400e3], &rate(), &more), None, false);
            let answer = |bytes| Call::Write(0, End::Server, bytes);
            let completed = Transfer::Completed {
                bytes: 5_300,
                first_byte: Some(Duration::from_millis(90)),
                took: Duration::from_millis(90),
            };
            let gave_up = Call::Transfer(Transfer::Abandoned);
            let after: Vec<Call> = match how {
                "close" => vec![gave_up, first, STARTED, Call::Open(1)],
                _ => vec![gave_up, STARTED, first],
            };
            steps(
                &mut has,
                &[
                    (0, Event::Start, &[STARTED, Call::Open(0)]),
                    (0, Event::Opened(0, End::Client), &[Call::Write(0, End::Client, 250)]),
                    (0, Event::Received(0, End::Server, 250), &[answer(5_300)]),
                    // 5,000 B in 0.09 s: 444 kbit/s, the level above.
                    (
                        90,
                        Event::Received(0, End::Client, 5_300),
                        &[Call::Transfer(completed), STARTED, Call::Write(0, End::Client, 250)],
                    ),
                    (100, Event::Received(0, End::Server, 500), &[answer(100_300)]),
                    // Too early to judge.
                    (580, Event::Received(0, End::Client, 5_300 + 100), &[]),
                    // 5,300 B in 0.61 s are 70 kbit/s.
                    (700, Event::Received(0, End::Client, 5_300 + 5_300), &after),
                    (710, Event::Opened(1, End::Client), &[Call::Write(1, End::Client, 250)]),
                    (720, Event::Received(1, End::Server, 250), &[Call::Write(1, End::Server, 5_300)]),
                    // Not a second time.
                    (2_720, Event::Received(1, End::Client, 10), &[]),
                ],
            );
            assert_eq!(has.playback.moments(at(720)).last(), Some(&(at(700), Moment::Part(0, 20e3))));
            if how == "drain" {
                // The rest arrives for nothing; there is another connection by now, and the old one is closed.
                steps(
                    &mut has,
                    &[
                        (3_000, Event::Received(0, End::Client, 50_000), &[]),
                        (4_000, Event::Received(0, End::Client, 105_600), &[Call::Close(0, End::Client)]),
                    ],
                );
            }
        }
    }

    /// Who hangs up closes his end at once; what is under way arrives for nothing.
    #[test]
    fn a_viewer_hangs_up() {
        let more = [("end", Value::Word("drain".into()))];
        let mut has: Has =
            machine(&values(&[1e6], &rate(), &more), Some(Ending { at: at(300), abort: false }), false);
        steps(
            &mut has,
            &[
                (0, Event::Start, &[Call::Timer(OVER, at(300)), STARTED, Call::Open(0)]),
                (50, Event::Opened(0, End::Client), &[Call::Write(0, End::Client, 250)]),
                (100, Event::Received(0, End::Server, 250), &[Call::Write(0, End::Server, 250_300)]),
                (200, Event::Received(0, End::Client, 1_000), &[]),
                (
                    300,
                    Event::Timer(OVER),
                    &[Call::Close(0, End::Client), Call::Transfer(Transfer::Abandoned)],
                ),
                (350, Event::PeerClosed(0, End::Server), &[Call::Close(0, End::Server)]),
                (400, Event::Received(0, End::Client, 250_300), &[]),
                (450, Event::PeerClosed(0, End::Client), &[]),
                (450, Event::Closed(0), &[]),
            ],
        );
        assert_eq!(has.playback.moments(at(900)).last(), Some(&(at(300), Moment::Leaves)));
    }

    #[test]
    fn a_level_that_does_not_exist_is_told() {
        let mut has: Has = machine(&values(&[1e6], &rate(), &[]), None, false);
        assert_eq!(has.fault(), None);
        has.fault = Some(3);
        assert_eq!(has.fault(), Some(NoLevel { level: 3, top: 0 }));
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
            ["buffer must hold at least two chunks of 2 s; it is 3 s"]
        );
        assert_eq!(
            said(&[1e6], &[seconds("buffer", 5.0), seconds("play_at", 4.5), seconds("resume_at", 6.0)]),
            [
                "play_at is never reached: the buffer holds 2 chunks of 2 s, not 4.5 s",
                "resume_at is never reached: the buffer holds 2 chunks of 2 s, not 6 s"
            ]
        );
        let rule = |s| Value::Table(Values([("reservoir", Value::Seconds(s))].into_iter().collect()));
        assert_eq!(
            said(&[1e6], &[seconds("buffer", 30.0), ("adaptation", rule(30.0))]),
            [
                "adaptation its reservoir of 30 s exceeds the buffer of 30 s: every chunk would have the lowest level"
            ]
        );
        let rows = |rows: &[&[f64]]| ("sizes", Value::ByteRows(rows.iter().map(|r| r.to_vec()).collect()));
        assert_eq!(
            said(&[1e6, 2e6], &[rows(&[&[1.0, 2.0], &[1.0]])]),
            ["sizes chunk 1 has 1 sizes, the ladder 2 levels"]
        );
        assert_eq!(said(&[1e6], &[rows(&[])]), ["sizes must have at least one chunk"]);
        assert_eq!(said(&[2e6, 1e6], &[]), ["ladder must rise, but 1000000 bit/s follows 2000000 bit/s"]);
    }
}
