//! Measurements of video viewers in the window: start delay, stalls, played time and bitrate.

use evenflow_base::{Duration, Time};
use evenflow_traffic::Moment;

use crate::measure::Window;

/// Measurements of one user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Viewed {
    /// Videos asked for, started, shown to their end, and left.
    pub asked: u64,
    /// See `asked`.
    pub started: u64,
    /// See `asked`.
    pub finished: u64,
    /// See `asked`.
    pub left: u64,
    /// Time at which the last video that ended in the window ended.
    pub finished_at: Option<Time>,
    /// From request to start, of each video that started in the window.
    pub startups: Vec<Duration>,
    /// Of each stall that began in the window: its length, that of the last one up to the end of the run.
    pub stalls: Vec<Duration>,
    /// Time played, stalled, and waited for a start, in the window.
    pub played: Duration,
    /// See `played`.
    pub stalled: Duration,
    /// See `played`.
    pub waited: Duration,
    /// Parts asked for in the window, and the sum of their bitrates, bit/s.
    pub parts: u64,
    /// See `parts`.
    pub bitrates: f64,
    /// Of those, how many have another level than the part before, and by how much the bitrate changed in all, bit/s.
    pub switches: u64,
    /// See `switches`.
    pub switched: f64,
    /// The first video asked for in the window.
    pub asked_at: Option<Time>,
    /// When another level is asked for, and which; the first is that at the beginning of the window, where there is one.
    pub levels: Vec<(Time, u32)>,
    /// The same of parts that have come in, and of what is shown.
    pub received: Vec<(Time, u32)>,
    /// See `received`.
    pub shown: Vec<(Time, u32)>,
    /// Parts that have come in within the window.
    pub parts_received: u64,
}

/// The received parts of a video, by level, and the part shown.
#[derive(Default)]
struct Reel {
    /// Level of each part, and where in the video it begins.
    parts: Vec<(u32, Duration)>,
    content: Duration,
    shown: Duration,
    /// The part that is shown next.
    next: usize,
}

/// The state of the screen between two events.
#[derive(Clone, Copy, PartialEq)]
enum Screen {
    Off,
    Waiting,
    Playing,
    Stalled,
}

impl Viewed {
    /// Adds what the moments of one player, up to the end of the window, say of it.
    pub fn add(&mut self, moments: &[(Time, Moment)], window: &Window) {
        let mut screen = (Screen::Off, Time::ZERO);
        let mut last: Option<(u32, f64)> = None;
        let mut reel = Reel::default();
        let end = (window.to, None);
        for (at, what) in moments.iter().map(|(at, what)| (*at, Some(*what))).chain([end]) {
            let inside = window.holds(at);
            let next = match what {
                Some(Moment::Part(level, bitrate)) => {
                    self.ask(level, bitrate, at, last, window);
                    last = Some((level, bitrate));
                    continue;
                }
                Some(Moment::Came(level, length)) => {
                    note(&mut self.received, level, at, window);
                    self.parts_received += u64::from(inside);
                    reel.parts.push((level, reel.content));
                    reel.content = reel.content + length;
                    continue;
                }
                Some(Moment::Asked) => {
                    (self.asked, last) = (self.asked + u64::from(inside), None);
                    self.asked_at = self.asked_at.or(inside.then_some(at));
                    Screen::Waiting
                }
                Some(Moment::Starts) => {
                    if inside {
                        self.started += 1;
                        self.startups.push(at - screen.1);
                    }
                    Screen::Playing
                }
                Some(Moment::Stalls) => Screen::Stalled,
                Some(Moment::Resumes) => Screen::Playing,
                Some(Moment::Ends) => {
                    if inside {
                        self.finished += 1;
                        self.finished_at = Some(at);
                    }
                    Screen::Off
                }
                Some(Moment::Leaves) => {
                    self.left += u64::from(inside);
                    Screen::Off
                }
                None => Screen::Off,
            };
            let (before, since) = std::mem::replace(&mut screen, (next, at));
            let overlap = Duration(window.overlap(since, at));
            if before == Screen::Playing {
                self.show(&mut reel, since, at, window);
            }
            if what == Some(Moment::Asked) {
                reel = Reel::default();
            }
            match before {
                Screen::Off => {}
                Screen::Waiting => self.waited = self.waited + overlap,
                Screen::Playing => self.played = self.played + overlap,
                Screen::Stalled => {
                    self.stalled = self.stalled + overlap;
                    if window.holds(since) {
                        self.stalls.push(at - since);
                    }
                }
            }
        }
    }

    fn ask(&mut self, level: u32, bitrate: f64, at: Time, last: Option<(u32, f64)>, window: &Window) {
        note(&mut self.levels, level, at, window);
        if window.holds(at) {
            self.parts += 1;
            self.bitrates += bitrate;
            if let Some((before, was)) = last.filter(|(before, _)| *before != level) {
                debug_assert_ne!(before, level);
                self.switches += 1;
                self.switched += (bitrate - was).abs();
            }
        }
    }

    /// The video has played from `since` to `at`: which levels that showed.
    fn show(&mut self, reel: &mut Reel, since: Time, at: Time, window: &Window) {
        let until = reel.shown + (at - since);
        while let Some((level, begins)) = reel.parts.get(reel.next).filter(|(_, begins)| *begins < until) {
            note(&mut self.shown, *level, since + Duration(begins.0 - reel.shown.0), window);
            reel.next += 1;
        }
        reel.shown = until;
    }

    /// The length of all stalls that began in the window.
    pub fn stall_time(&self) -> Duration {
        self.stalls.iter().fold(Duration::ZERO, |sum, stall| sum + *stall)
    }
}

/// Adds a level to a list of changes, if it is one. Of what was before the window, the last holds at its beginning.
fn note(list: &mut Vec<(Time, u32)>, level: u32, at: Time, window: &Window) {
    if list.last().is_none_or(|(_, before)| *before != level) {
        if at <= window.from {
            list.clear();
        }
        list.push((at.max(window.from), level));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn moments() -> Vec<(Time, Moment)> {
        vec![
            (at(500), Moment::Asked),
            (at(500), Moment::Part(0, 1e6)),
            (at(900), Moment::Starts),
            (at(1_500), Moment::Part(2, 4e6)),
            (at(1_900), Moment::Stalls),
            (at(2_400), Moment::Resumes),
            (at(2_500), Moment::Part(2, 4e6)),
            (at(3_000), Moment::Part(1, 2e6)),
            (at(3_500), Moment::Stalls),
        ]
    }

    #[test]
    fn a_whole_run() {
        let mut seen = Viewed::default();
        seen.add(&moments(), &Window { from: at(0), to: at(4_000) });
        let expected = Viewed {
            asked: 1,
            started: 1,
            startups: vec![ms(400)],
            stalls: vec![ms(500), ms(500)], // the last is cut by the end
            played: ms(1_000 + 1_100),
            stalled: ms(1_000),
            waited: ms(400),
            parts: 4,
            bitrates: 11e6,
            switches: 2,
            switched: 3e6 + 2e6,
            asked_at: Some(at(500)),
            levels: vec![(at(500), 0), (at(1_500), 2), (at(3_000), 1)],
            ..Viewed::default()
        };
        assert_eq!(seen, expected);
        assert_eq!(seen.stall_time(), ms(1_000));
    }

    #[test]
    fn a_window_has_what_begins_in_it_and_the_time_that_falls_into_it() {
        let mut seen = Viewed::default();
        seen.add(&moments(), &Window { from: at(2_000), to: at(4_000) });
        let expected = Viewed {
            stalls: vec![ms(500)],
            played: ms(1_100),
            stalled: ms(400 + 500),
            parts: 2,
            bitrates: 6e6,
            switches: 1,
            switched: 2e6,
            levels: vec![(at(2_000), 2), (at(3_000), 1)],
            ..Viewed::default()
        };
        assert_eq!(seen, expected);
    }

    /// Parts of a second each: the first is shown from 900 ms on, the second behind the stall, the third a second later.
    #[test]
    fn a_level_is_asked_for_comes_in_and_is_shown() {
        let came = |ms, level| (at(ms), Moment::Came(level, Duration::from_millis(1_000)));
        let list = [
            (at(500), Moment::Asked),
            (at(500), Moment::Part(0, 1e6)),
            came(900, 0),
            (at(900), Moment::Starts),
            (at(900), Moment::Part(2, 4e6)),
            (at(1_900), Moment::Stalls),
            came(2_400, 2),
            (at(2_400), Moment::Resumes),
            (at(2_400), Moment::Part(2, 4e6)),
            came(2_500, 2),
            (at(2_500), Moment::Part(1, 2e6)),
            came(3_000, 1),
        ];
        let mut seen = Viewed::default();
        seen.add(&list, &Window { from: at(0), to: at(4_500) });
        assert_eq!(seen.received, [(at(900), 0), (at(2_400), 2), (at(3_000), 1)]);
        assert_eq!(seen.shown, [(at(900), 0), (at(2_400), 2), (at(4_400), 1)]);
        assert_eq!((seen.parts_received, seen.asked_at), (4, Some(at(500))));
        let mut late = Viewed::default();
        late.add(&list, &Window { from: at(2_450), to: at(4_400) });
        // The last part would be shown from the end of the window on.
        assert_eq!((late.received, late.shown), (vec![(at(2_450), 2), (at(3_000), 1)], vec![(at(2_450), 2)]));
        assert_eq!((late.parts_received, late.asked_at), (2, None));
    }

    #[test]
    fn the_next_video_is_no_switch() {
        let mut seen = Viewed::default();
        let list = [
            (at(0), Moment::Asked),
            (at(0), Moment::Part(0, 1e6)),
            (at(10), Moment::Starts),
            (at(1_000), Moment::Ends),
            (at(1_500), Moment::Asked),
            (at(1_500), Moment::Part(1, 2e6)),
            (at(1_700), Moment::Leaves),
        ];
        seen.add(&list, &Window { from: at(0), to: at(2_000) });
        assert_eq!((seen.switches, seen.asked, seen.started, seen.finished, seen.left), (0, 2, 1, 1, 1));
        assert_eq!((seen.played, seen.waited, seen.finished_at), (ms(990), ms(210), Some(at(1_000))));
    }
}
