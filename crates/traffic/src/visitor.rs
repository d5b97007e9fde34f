//! A closed-loop user: requests, waits for the response, thinks, and requests again.
//!
//! A visit fetches one object, and then others. It is a transfer: it starts with its first request or
//! connection and completes with its last byte. It is abandoned when the user loses patience, and fails when
//! a connection is lost.

use evenflow_base::params::Key;
use evenflow_base::schema::{Problem, Value, Values};
use evenflow_base::{Duration, Heap, Time};

use crate::app::{Call, Drawn, Event, External, Setting, Transfer};
use crate::client::{Asking, Client, News};
use crate::ending::Ending;

/// The alarm of the next visit.
const THINK: u32 = u32::MAX;
/// The alarm of lost patience.
const PATIENCE: u32 = u32::MAX - 1;
/// The alarm of the end.
const OVER: u32 = u32::MAX - 2;

/// More objects than any page has.
const MOST_OBJECTS: u32 = 100_000;

/// State of a visit.
#[derive(Clone, Copy, Debug)]
struct Visit {
    started: Time,
    first_byte: Option<Duration>,
    bytes: u64,
    /// Objects that are asked for now.
    asked: u32,
}

/// Further objects of a page.
#[derive(Clone, Debug)]
pub struct Objects {
    /// How many.
    pub count: Drawn,
    /// Bytes of each.
    pub size: Drawn,
}

/// The user, of web pages or of single responses.
#[derive(Clone, Debug)]
pub struct Visitor<const PAGES: bool> {
    client: Client,
    first: Drawn,
    objects: Option<Objects>,
    think: Drawn,
    patience: Option<Drawn>,
    /// Visits still to come; absent: any number.
    visits: Option<u64>,
    ending: Option<Ending>,
    over: bool,
    visit: Option<Visit>,
    /// Sizes of the objects of this page, the last first.
    sizes: Vec<u64>,
    thinks_until: Time,
    gives_up: Time,
}

/// The error of a user that would visit endlessly at one instant.
pub(crate) fn check(values: &Values) -> Vec<Problem> {
    let never = |value: Option<&Value>| value.is_some_and(|value| value.bounds().1 == 0.0);
    if never(values.raw(Asking::think)) && never(values.raw(Asking::patience)) {
        let why = "a user without think time and without patience would repeat requests endlessly at one \
                   instant; set think or patience above 0 s, or leave patience out";
        return vec![(Asking::patience.name, why.into())];
    }
    Vec::new()
}

impl<const PAGES: bool> External for Visitor<PAGES> {
    fn client_at_end(&self) -> bool {
        true
    }

    fn heap_bytes(&self) -> u64 {
        self.client.heap_bytes() + self.sizes.heap_bytes()
    }

    fn on(&mut self, event: Event, now: Time, calls: &mut Vec<Call>) {
        match event {
            Event::Start if self.ending.is_none_or(|ending| now < ending.at) => {
                calls.extend(self.ending.map(|ending| Call::Timer(OVER, ending.at)));
                self.begin(now, calls);
            }
            Event::Timer(OVER) => self.end(calls),
            Event::Timer(THINK) if now == self.thinks_until => self.begin(now, calls),
            Event::Timer(PATIENCE) if now == self.gives_up => {
                self.client.abort(false, calls);
                self.finish(Transfer::Abandoned, now, calls);
            }
            event => match self.client.on(event, now, calls) {
                Some(News::Begun(_)) => self.note_first_byte(now),
                Some(News::Done(size)) => {
                    self.note_first_byte(now);
                    self.arrived(size, now, calls);
                }
                Some(News::Failed) if self.visit.is_some() => {
                    self.client.abort(false, calls);
                    self.finish(Transfer::Failed, now, calls);
                }
                _ => {}
            },
        }
    }
}

impl<const PAGES: bool> Visitor<PAGES> {
    /// A user with the parameters `think`, `patience`, `keep_alive` and those of [`Client`]; `first` names
    /// the size of the first object, `visits` the number of visits.
    pub fn new(
        values: &Values,
        first: Key<Value>,
        visits: Key<Option<u64>>,
        most: u32,
        objects: Option<Objects>,
        setting: &Setting,
    ) -> Visitor<PAGES> {
        Visitor {
            client: Client::new(values, most, values.is(Asking::keep_alive, true), setting),
            first: Drawn::new(values, first, 1.0, setting),
            objects,
            think: Drawn::new(values, Asking::think, 0.0, setting),
            patience: values
                .raw(Asking::patience)
                .map(|_| Drawn::new(values, Asking::patience, 0.0, setting)),
            visits: values.read(visits),
            ending: setting.ending,
            over: false,
            visit: None,
            sizes: Vec::new(),
            thinks_until: Time::NEVER,
            gives_up: Time::NEVER,
        }
    }

    /// A visit begins. All that it draws is drawn now.
    fn begin(&mut self, now: Time, calls: &mut Vec<Call>) {
        self.thinks_until = Time::NEVER;
        let first = self.first.bytes();
        self.sizes.clear();
        if let Some(objects) = &mut self.objects {
            let count = objects.count.whole(MOST_OBJECTS);
            self.sizes.extend((0..count).map(|_| objects.size.bytes()));
            self.sizes.reverse();
        }
        self.visit = Some(Visit { started: now, first_byte: None, bytes: 0, asked: 1 });
        calls.push(Call::Transfer(Transfer::Started));
        if let Some(patience) = &mut self.patience {
            self.gives_up = now + patience.duration();
            calls.push(Call::Timer(PATIENCE, self.gives_up));
        }
        self.client.ask(first, calls);
    }

    fn note_first_byte(&mut self, now: Time) {
        if let Some(visit) = &mut self.visit {
            visit.first_byte.get_or_insert(now - visit.started);
        }
    }

    /// An object is there: asks for others, on as many connections as there may be.
    fn arrived(&mut self, size: u64, now: Time, calls: &mut Vec<Call>) {
        let Some(visit) = &mut self.visit else { return };
        visit.bytes += size;
        visit.asked -= 1;
        while let Some(next) = self.sizes.last()
            && self.client.ask(*next, calls)
        {
            self.sizes.pop();
            visit.asked += 1;
        }
        let Visit { started, first_byte, bytes, asked } = *visit;
        if asked == 0 {
            self.finish(Transfer::Completed { bytes, first_byte, took: now - started }, now, calls);
        }
    }

    /// A visit is over; the next follows when the user has thought.
    fn finish(&mut self, how: Transfer, now: Time, calls: &mut Vec<Call>) {
        calls.push(Call::Transfer(how));
        self.visit = None;
        self.gives_up = Time::NEVER;
        self.visits = self.visits.map(|n| n - 1);
        if self.over || self.visits == Some(0) {
            self.client.close(calls);
            return;
        }
        self.thinks_until = now + self.think.duration();
        calls.push(Call::Timer(THINK, self.thinks_until));
    }

    /// The traffic ends.
    fn end(&mut self, calls: &mut Vec<Call>) {
        self.over = true;
        self.thinks_until = Time::NEVER;
        let abort = self.ending.is_some_and(|ending| ending.abort);
        if abort {
            self.client.abort(true, calls);
            self.gives_up = Time::NEVER;
            calls.extend(self.visit.take().map(|_| Call::Transfer(Transfer::Abandoned)));
        } else if self.visit.is_none() {
            self.client.close(calls);
        }
    }
}
